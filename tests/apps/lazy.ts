/** A plugin that is loaded when it is needed: what `app.use(import('./lazy.ts'))` loads. */
import { Elysia } from 'elysia'
import { newService } from './service.ts'

export const lazyService = newService()

/** Held by an app in it, as the routes of a large program are. */
export default new Elysia({ prefix: '/lazy' }).use(lazyService).get('/', () => 'lazy')
