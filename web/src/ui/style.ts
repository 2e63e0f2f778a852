/** The style sheet of the chat's shadow root. */

import { unsafeCSS } from "lit";
import sheet from "./styles/all.css";

export const styles = unsafeCSS(sheet);
