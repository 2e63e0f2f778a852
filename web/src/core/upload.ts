/** Uploads files for the next message. Loaded when the first one is chosen. */

import type { API } from "./api.js";
import type { Attachment } from "./attachment.js";
import { t } from "../languages/language.js";

const PICTURE = /^image\/(?:png|jpeg|gif|webp)$/;

/** Begin to upload a file. `changed` is called whenever its state changes. */
export function upload(api: API, file: File, attachment: Attachment, changed: () => void): void {
  if (attachment.problem !== "") return;
  if (PICTURE.test(file.type)) void dataUrl(file).then((url) => ((attachment.preview = url), changed()));
  void send(api, file, attachment, changed);
}

/** `fetch` does not tell how much has been sent. */
async function send(api: API, file: File, attachment: Attachment, changed: () => void): Promise<void> {
  const token = await api.token();
  const request = new XMLHttpRequest();
  attachment.abort = () => request.abort();
  request.open("POST", api.address("api/files"));
  request.setRequestHeader("content-type", "application/octet-stream");
  request.setRequestHeader("x-file-name", encodeURIComponent(attachment.name));
  if (token) request.setRequestHeader("authorization", `Bearer ${token}`);
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    attachment.progress = total > 0 ? loaded / total : 0;
    changed();
  });
  request.addEventListener("loadend", () => {
    const { id, error } = parsed(request.responseText);
    if (request.status === 200 && id) attachment.fileId = id;
    else attachment.problem = error?.message ?? t.noServer;
    changed();
  });
  request.send(file);
}

function parsed(text: string): { id?: string; error?: { message?: string } } {
  try {
    return JSON.parse(text) as { id?: string };
  } catch {
    return {};
  }
}

export function dataUrl(file: Blob): Promise<string> {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result)));
    reader.readAsDataURL(file);
  });
}
