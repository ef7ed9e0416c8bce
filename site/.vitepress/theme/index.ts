import DefaultTheme from 'vitepress/theme'
import './home.css'
import './tables.css'

export default DefaultTheme
