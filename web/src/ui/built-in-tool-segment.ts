/** A tool that the provider ran itself. It looks like any other, and goes by its own name. */

import { define } from "./element.js";
import { ToolCallSegment } from "./tool-call-segment.js";

export class BuiltInToolSegment extends ToolCallSegment {}

define("headrace-built-in-tool-segment", BuiltInToolSegment);
