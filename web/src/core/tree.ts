/** The tree of messages: the visible branch, and the siblings of a message. */

export interface Node {
  readonly id: string;
  readonly parent_id: string | null;
  readonly created_at: number;
}

/** The parent of a first message. */
export const ROOT = "";

/** Return the messages from the root to this leaf; the newest branch if the leaf is unknown. */
export function branch<T extends Node>(nodes: ReadonlyMap<string, T>, leafId: string | null): T[] {
  if (leafId === ROOT) return [];
  const path: T[] = [];
  let node = (leafId === null ? undefined : nodes.get(leafId)) ?? newest([...nodes.values()]);
  const seen = new Set<string>();
  while (node && !seen.has(node.id)) {
    seen.add(node.id);
    path.push(node);
    node = node.parent_id === null ? undefined : nodes.get(node.parent_id);
  }
  return path.reverse();
}

/** Return all messages with the same parent, oldest first. */
export function siblings<T extends Node>(nodes: ReadonlyMap<string, T>, node: Node): T[] {
  const found = [...nodes.values()].filter((one) => one.parent_id === node.parent_id);
  return found.sort((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1));
}

/** Return the newest leaf below this message. */
export function leafUnder<T extends Node>(nodes: ReadonlyMap<string, T>, id: string): string {
  const children = [...nodes.values()].filter((one) => one.parent_id === id);
  const last = newest(children);
  return last ? leafUnder(nodes, last.id) : id;
}

function newest<T extends Node>(nodes: readonly T[]): T | undefined {
  return nodes.reduce<T | undefined>((best, one) => (!best || one.created_at >= best.created_at ? one : best), undefined);
}
