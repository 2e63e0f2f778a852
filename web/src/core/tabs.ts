/** Tells other tabs of the browser what has changed. */

export class Tabs {
  #channel: BroadcastChannel | undefined;

  constructor(changed: (conversationId: string) => void) {
    if (!("BroadcastChannel" in globalThis)) return;
    this.#channel = new BroadcastChannel("headrace");
    this.#channel.onmessage = ({ data }) => {
      if (typeof data === "string") changed(data);
    };
  }

  tell(conversationId: string): void {
    this.#channel?.postMessage(conversationId);
  }

  close(): void {
    this.#channel?.close();
  }
}
