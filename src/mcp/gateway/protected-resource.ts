// What the HTTP gateway needs of OAuth, beside the users that it finds by tokens.
import type { TokenAccess } from '../../users/oauth/index.ts'

/** Answers for the metadata of a resource that is protected by OAuth. */
export type ProtectedResource = Pick<TokenAccess, 'metadataAt'>
