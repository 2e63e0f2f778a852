// The peer: a chat in React that shows the same stream with Streamdown, as its documentation has it.
// It takes what came once a frame, keeps a reasoning and a text apart, and follows the newest words.

import { memo, useEffect, useLayoutEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";
import { Streamdown } from "streamdown";

interface Shown {
  reasoning: string;
  text: string;
  isDone: boolean;
}

const Prose = memo(({ text }: { text: string }) => <Streamdown>{text}</Streamdown>);

function Chat() {
  const [shown, setShown] = useState<Shown>({ reasoning: "", text: "", isDone: false });
  useEffect(() => {
    document.title = "ready";
    addEventListener("keydown", () => void watch(setShown), { once: true });
  }, []);
  useEffect(() => {
    if (shown.isDone) document.title = "done";
  }, [shown.isDone]);
  const window = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    window.current?.scrollTo(0, window.current.scrollHeight);
    scrollTo(0, document.documentElement.scrollHeight);
  });
  return (
    <main>
      <section className="window" ref={window}><Prose text={shown.reasoning} /></section>
      <section className="text"><Prose text={shown.text} /></section>
    </main>
  );
}

async function watch(show: (shown: Shown) => void): Promise<void> {
  const message = decodeURIComponent(location.hash.slice(1));
  const response = await fetch("/api/chat", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ message }),
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let shown: Shown = { reasoning: "", text: "", isDone: false };
  let frame = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const events = (rest + value).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) shown = folded(shown, event);
    if (!frame) frame = requestAnimationFrame(() => ((frame = 0), show(shown)));
  }
  shown = { ...shown, isDone: true };
  show(shown);
}

function folded(shown: Shown, event: string): Shown {
  const data = event.split("\n").find((line) => line.startsWith("data: "));
  if (!data) return shown;
  const frame = JSON.parse(data.slice(6));
  if (frame.type === "reasoning_part_delta") return { ...shown, reasoning: shown.reasoning + frame.text_delta };
  if (frame.type === "text_delta") return { ...shown, text: shown.text + frame.text_delta };
  return shown;
}

createRoot(document.querySelector("#root")!).render(<Chat />);
