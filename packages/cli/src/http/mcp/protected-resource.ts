// Defines what the HTTP gateway needs of OAuth, besides the users that it finds by tokens.
import type { TokenAccess } from '@toolshelf/server/internal/oauth'

/** Returns the metadata of a resource that OAuth protects. */
export type ProtectedResource = Pick<TokenAccess, 'metadataAt'>
