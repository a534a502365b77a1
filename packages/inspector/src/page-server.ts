// The page of the inspector as bytes: a door of its own, because a build puts the page beside it.

export { loadPage } from './server/page.ts'
