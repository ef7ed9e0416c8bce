import DefaultTheme from 'vitepress/theme'
import './code.css'
import './diagrams.css'
import './home.css'
import './tables.css'

export default DefaultTheme
