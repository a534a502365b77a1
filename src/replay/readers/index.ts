// Exports of replay/readers for other folders.
export { createClaudeCodeReader, isClaudeCodeLine } from './claude-code.ts'
export { createCodexReader, isCodexLine } from './codex.ts'
export { createHttpReader, type HttpReader, isHttpLine } from './http.ts'
export { createToolshelfReader, isToolshelfLine } from './toolshelf.ts'
