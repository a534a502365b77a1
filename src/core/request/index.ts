// Exports of core/request for other folders.

export {
  type BoundRequest,
  demandsOf,
  type NormalizedHistory,
  normalize,
  rewrite,
  type View,
  viewFor,
  withValidThinking,
} from './normalize.ts'
export {
  announce,
  assemble,
  betasFor,
  keepFound,
  type MessagesOf,
  openNames,
  type RequestToSend,
  reload,
  shownBy,
  toolsFor,
  withHostTools,
} from './request.ts'
