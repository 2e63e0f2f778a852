/** Asks for the token of a server that wants one. It stays in this browser, and goes out in a
 * header only. */

import { html, nothing, type TemplateResult } from "lit";

const KEY = "headrace.token";

export function recallToken(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** For when there is no token, or the server does not take the one there is. */
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
