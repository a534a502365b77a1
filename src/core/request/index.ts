// Exports of core/request for other folders.

export { announce, reload } from './append-notes.ts'
export { demandsOf } from './demands.ts'
export { type NormalizedHistory, normalize } from './normalize.ts'
export { assemble, betasFor, hostTools, type MessagesOf, type RequestToSend } from './request.ts'
export { rewrite, type View } from './rewrite.ts'
export { viewFor } from './view.ts'
export { keepFound, toolsFor } from './working.ts'
