import DefaultTheme from 'vitepress/theme'
import './code.css'
import './home.css'
import './tables.css'

export default DefaultTheme
