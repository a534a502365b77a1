// Dark, light, or as the system has it; kept for the next visit.

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const STORED_THEME = 'toolshelf-theme'

export function storedTheme(): Theme {
  const stored = read()
  return THEMES.find((theme) => theme === stored) ?? 'system'
}

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
