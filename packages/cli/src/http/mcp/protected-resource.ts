// Defines what the HTTP gateway needs of OAuth, besides the users that it finds by tokens.
import type { TokenAccess } from '@toolshelf/server/internal/oauth'

export type ProtectedResource = Pick<TokenAccess, 'metadataAt'>
