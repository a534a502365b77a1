// The door of cli/chat: what other folders use of it.
export { createChat, STARTING } from './chat.ts'
export { openTypedLines } from './typed-lines.ts'
