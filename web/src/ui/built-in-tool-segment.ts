/** A provider-run tool. It looks like any other tool, under its own name. */

import { define } from "./element.js";
import { ToolCallSegment } from "./tool-call-segment.js";

export class BuiltInToolSegment extends ToolCallSegment {}

define("headrace-built-in-tool-segment", BuiltInToolSegment);
