// The generator's theme, with code and tables that fit the page.
import DefaultTheme from 'vitepress/theme'
import './fit.css'

export default DefaultTheme
