// Exports of cli/chat for other folders.
export { createChat, STARTING } from './chat.ts'
export { openTypedLines } from './typed-lines.ts'
