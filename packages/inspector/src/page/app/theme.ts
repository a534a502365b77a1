// The colour theme: dark, light, or that of the system; kept for the next visit.

/** All of `Theme`. */
export const THEMES = ['system', 'light', 'dark'] as const
/** A colour theme. */
export type Theme = (typeof THEMES)[number]

const STORED_THEME = 'toolshelf-theme'

/** Returns the theme of the last visit. */
export function storedTheme(): Theme {
  const stored = read()
  return THEMES.find((theme) => theme === stored) ?? 'system'
}

/** Applies a theme and stores it. */
export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  try {
    localStorage.setItem(STORED_THEME, theme)
  } catch {
    // Storage may be turned off: the choice then holds until the page is closed.
  }
}

function read(): string | null {
  try {
    return localStorage.getItem(STORED_THEME)
  } catch {
    return null
  }
}
