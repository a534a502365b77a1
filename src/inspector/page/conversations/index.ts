// Exports of inspector/page/conversations for other folders.
export { useDroppedFiles } from './open-file.tsx'
export { ConversationsPage } from './page.tsx'
