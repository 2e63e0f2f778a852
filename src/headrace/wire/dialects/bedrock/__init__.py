"""The dialect of Amazon Bedrock's Converse API, and of Nova models behind InvokeModel."""
