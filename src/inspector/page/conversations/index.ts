// The page of conversations.
export { useDroppedFiles } from './open-file.tsx'
export { ConversationsPage } from './page.tsx'
