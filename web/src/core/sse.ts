/** Parses server-sent events from text in any slicing. */

export interface SSEEvent {
  readonly id: string;
  readonly data: string;
}

export class SSEReader {
  #rest = "";
  #endedWithReturn = false;
  #id = "";
  #data: string[] = [];

  /** Return the events that this piece completes. An event that is cut off at the end is dropped. */
  feed(piece: string): SSEEvent[] {
    if (this.#endedWithReturn && piece.startsWith("\n")) piece = piece.slice(1);
    if (piece === "") return [];
    this.#endedWithReturn = piece.endsWith("\r");
    // Splitting by an expression takes several times as long.
    const lines = piece.includes("\r") ? piece.split(/\r\n|\n|\r/) : piece.split("\n");
    lines[0] = this.#rest + (lines[0] ?? "");
    this.#rest = lines.pop() ?? "";
    const events: SSEEvent[] = [];
    for (const line of lines) this.#line(line, events);
    return events;
  }

  #line(line: string, events: SSEEvent[]): void {
    if (line === "") return this.#end(events);
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") this.#data.push(value);
    else if (name === "id") this.#id = value;
  }

  #end(events: SSEEvent[]): void {
    if (this.#data.length === 0) return;
    events.push({ id: this.#id, data: this.#data.join("\n") });
    this.#data = [];
  }
}
