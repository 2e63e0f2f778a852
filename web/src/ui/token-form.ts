/** The sign-in form of a server that requires an access token. The token stays in this browser and is only sent
 * in a header. */

import { html, nothing, type TemplateResult } from "lit";

const KEY = "headrace.token";

export function recallToken(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** Shown if there is no access token, or the server rejects it. */
export function tokenForm(done: () => void): TemplateResult {
  const submit = (event: Event): void => {
    event.preventDefault();
    const field = (event.target as HTMLFormElement).querySelector("input");
    localStorage.setItem(KEY, field?.value.trim() ?? "");
    done();
  };
  return html`<form class="token" @submit=${submit}>
    <h2>Sign in</h2>
    <p>This server requires an access token. Its operator creates one with <code>headrace token create</code>.</p>
    ${recallToken() ? html`<p role="alert"><strong>This token is not accepted.</strong></p>` : nothing}
    <input type="password" aria-label="Access token" autocomplete="off" required />
    <button class="strong" type="submit">Sign in</button>
  </form>`;
}
