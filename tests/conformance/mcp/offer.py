"""The tools, prompts and resources that the MCP conformance suite asks for."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

from headrace import FileContent, ImageContent, ToolContext, tool
from headrace.events import JSONObject
from headrace.mcp import MCPOffer, MCPResource, list_client_roots, sample_client

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
IMAGE = ImageContent(media_type="image/png", data=PIXEL)


def create_file(uri: str, text: str) -> FileContent:
    """Return a text as a file, which becomes an embedded resource."""
    data = base64.b64encode(text.encode()).decode()
    return FileContent(media_type="text/plain", name=uri, data=data)


def create_form(**fields: JSONObject) -> JSONObject:
    """Return the schema of a form in which every field is required."""
    return {"type": "object", "properties": fields, "required": list(fields)}


TEXT = {"type": "string"}


@tool
def test_embedded_resource() -> FileContent:
    """Return an embedded resource."""
    return create_file("test://embedded-resource", "This is an embedded resource content.")


@tool
def test_multiple_content_types() -> list[Any]:
    """Return a text, an image and a resource."""
    file = create_file("test://mixed-content-resource", '{"test": "data", "value": 123}')
    return ["Multiple content types test:", IMAGE, file]


@tool
async def test_tool_with_logging(context: ToolContext) -> str:
    """Write three log lines."""
    for line in ("started", "processing data", "completed"):
        context.log(f"Tool execution {line}")
        await asyncio.sleep(0.05)
    return "Done."


@tool
async def test_logging_tool(context: ToolContext) -> str:
    """Write a log line."""
    context.log("A line.")
    return "Done."


@tool
async def test_sampling(prompt: str, context: ToolContext) -> str:
    """Ask the model of the client."""
    return f"LLM response: {await sample_client(context, prompt, max_tokens=100)}"


@tool
async def test_missing_capability(context: ToolContext) -> str:
    """Ask the model of a client that has none."""
    return await sample_client(context, "Hello.")


@tool
async def test_elicitation(message: str, context: ToolContext) -> str:
    """Ask the user for a name and an address."""
    answer = await context.ask(message, create_form(username=TEXT, email=TEXT))
    return f"User response: {answer}"


@tool
async def test_elicitation_sep1034_defaults(context: ToolContext) -> str:
    """Ask with a default for each type."""
    form = create_form(
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        verified={"type": "boolean", "default": True},
    )
    return f"Elicitation completed: {await context.ask('Please check.', form)}"


@tool
async def test_elicitation_sep1330_enums(context: ToolContext) -> str:
    """Ask with each kind of choice."""
    values = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"Title {n}"} for n in (1, 2, 3)]
    named = ["First", "Second", "Third"]
    form = {
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": values},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": named,
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": values}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        },
    }
    return f"Elicitation completed: {await context.ask('Please choose.', form)}"


@tool
async def test_streaming_elicitation(context: ToolContext) -> str:
    """Ask in the middle of a stream."""
    context.progress("Working")
    return str(await context.ask("Go on?", create_form(ok={"type": "boolean"})))


async def ask_name(context: ToolContext) -> str:
    """Ask for the name of the user."""
    answer = await context.ask("What is your name?", create_form(name=TEXT), key="user_name")
    return str(answer["name"])


@tool
async def test_input_required_result_elicitation(context: ToolContext) -> str:
    """Greet the user."""
    return f"Hello, {await ask_name(context)}!"


@tool
async def test_input_required_result_sampling(context: ToolContext) -> str:
    """Ask the model of the client."""
    question = "What is the capital of France?"
    return await sample_client(context, question, max_tokens=100, key="capital_question")


@tool
async def test_input_required_result_list_roots(context: ToolContext) -> list[str]:
    """List the folders of the client."""
    return await list_client_roots(context, key="client_roots")


async def confirm(context: ToolContext) -> str:
    """Ask for a confirmation."""
    form = create_form(ok={"type": "boolean"})
    return f"state-ok: {await context.ask('Please confirm', form, key='confirm')}"


@tool
async def test_input_required_result_request_state(context: ToolContext) -> str:
    """Ask for a confirmation."""
    return await confirm(context)


@tool
async def test_input_required_result_tampered_state(context: ToolContext) -> str:
    """Ask for a confirmation."""
    return await confirm(context)


async def ask_all(context: ToolContext) -> list[str]:
    """Ask for everything at once. What the client cannot answer is left out."""
    found = await asyncio.gather(
        ask_name(context),
        sample_client(context, "Generate a greeting", max_tokens=50, key="greeting"),
        list_client_roots(context, key="client_roots"),
        return_exceptions=True,
    )
    return [str(one) for one in found]


@tool
async def test_input_required_result_multiple_inputs(context: ToolContext) -> list[str]:
    """Ask for everything at once."""
    return await ask_all(context)


@tool
async def test_input_required_result_capabilities(context: ToolContext) -> list[str]:
    """Ask for what the client can answer."""
    return await ask_all(context)


@tool
async def test_input_required_result_multi_round(context: ToolContext) -> str:
    """Ask twice."""
    name = await context.ask("Step 1: What is your name?", create_form(name=TEXT), key="step1")
    question = "Step 2: What is your favorite color?"
    color = await context.ask(question, create_form(color=TEXT), key="step2")
    return f"{name} {color}"


def test_simple_prompt() -> str:
    """Return a text."""
    return "This is a simple prompt for testing."


def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Return the arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


def test_prompt_with_embedded_resource(resourceUri: str) -> list[Any]:  # noqa: N803
    """Return a resource."""
    file = create_file(resourceUri, "Embedded resource content for testing.")
    return [file, "Please process the embedded resource above."]


def test_prompt_with_image() -> list[Any]:
    """Return an image."""
    return [IMAGE, "Please analyze the image above."]


async def test_input_required_result_prompt(context: ToolContext) -> str:
    """Ask for the subject."""
    question = "What context should the prompt use?"
    answer = await context.ask(question, create_form(context=TEXT), key="user_context")
    return f"Use this: {answer['context']}"


def read_template(id: str) -> str:
    """Return what a template says."""
    return f'{{"id": "{id}", "templateTest": true, "data": "Data for ID: {id}"}}'


TOOLS = [
    test_embedded_resource,
    test_multiple_content_types,
    test_tool_with_logging,
    test_logging_tool,
    test_sampling,
    test_missing_capability,
    test_elicitation,
    test_elicitation_sep1034_defaults,
    test_elicitation_sep1330_enums,
    test_streaming_elicitation,
    test_input_required_result_elicitation,
    test_input_required_result_sampling,
    test_input_required_result_list_roots,
    test_input_required_result_request_state,
    test_input_required_result_tampered_state,
    test_input_required_result_multiple_inputs,
    test_input_required_result_capabilities,
    test_input_required_result_multi_round,
]


OFFER = MCPOffer(
    tools=TOOLS,
    prompts=[
        test_simple_prompt,
        test_prompt_with_arguments,
        test_prompt_with_embedded_resource,
        test_prompt_with_image,
        test_input_required_result_prompt,
    ],
    resources=[
        MCPResource("test://static-text", "This is the content of the static text resource."),
        MCPResource("test://static-binary", base64.b64decode(PIXEL), media_type="image/png"),
        MCPResource("test://watched-resource", "Watch me."),
        MCPResource("test://template/{id}/data", read_template, media_type="application/json"),
    ],
)
