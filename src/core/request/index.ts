// Exports of core/request for other folders.

export { announce, reload } from './append-notes.ts'
export { demandsOf } from './demands.ts'
export { type NormalizedHistory, normalize } from './normalize.ts'
export { assemble, betasFor, type MessagesOf, type RequestToSend, withHostTools } from './request.ts'
export { rewrite, type View } from './rewrite.ts'
export { type BoundRequest, withValidThinking } from './thinking.ts'
export { viewFor } from './view.ts'
export { keepFound, openNames, shownBy, toolsFor } from './working.ts'
