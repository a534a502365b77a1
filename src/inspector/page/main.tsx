// Starts the page.
import { render } from 'preact'
import { createClient, takeKeyFromAddress } from './app/client.ts'
import { Shell, start } from './app/shell.tsx'
import { AppContext, createApp } from './app/state.ts'
import { applyTheme, storedTheme } from './app/theme.ts'
import './style/base.css'
import './style/layout.css'
import './style/parts.css'
import './style/pages.css'

takeKeyFromAddress()
applyTheme(storedTheme())
const app = createApp(createClient())
const root = document.getElementById('app')
if (!root) throw new Error('the page has no element "app"')
render(
  <AppContext.Provider value={app}>
    <Shell />
  </AppContext.Provider>,
  root,
)
void start(app)
