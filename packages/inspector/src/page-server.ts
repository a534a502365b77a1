// What our other packages use of @toolshelf/inspector.

export { loadPage } from './server/page.ts'
