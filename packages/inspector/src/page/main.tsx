// Entry point of the page: creates the state and draws the frame.
import { render } from 'preact'
import { createClient, takeKeyFromAddress } from './app/client.ts'
import { AppContext, createApp } from './app/state.ts'
import { applyTheme, storedTheme } from './app/theme.ts'
import { Shell, start } from './shell.tsx'
import './base.css'
import './layout.css'
import './parts.css'
import './pages.css'

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
