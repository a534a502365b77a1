// Exports of inspector/page/app for other folders: state, requests, routes and theme, which every page uses.
export { createClient, type PageClient, takeKeyFromAddress } from './client.ts'
export { followEvents } from './events.ts'
export { KeyForm } from './key-form.tsx'
export { goTo, linkTo, PAGE_NAMES, type PageName, type Route, useRoute } from './route.ts'
export { Shortcuts, useShortcuts } from './shortcuts.tsx'
export {
  type App,
  AppContext,
  type AppState,
  type ConnectionState,
  createApp,
  messageOf,
  replaceServer,
  shownModel,
  useApp,
  useAppHandle,
} from './state.ts'
export { applyTheme, storedTheme, THEMES, type Theme } from './theme.ts'
