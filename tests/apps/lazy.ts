/** A plugin that is loaded only when needed, by `app.use(import('./lazy.ts'))`. */
import { Elysia } from 'elysia'
import { newService } from './service.ts'

export const lazyService = newService()

/** An app inside the plugin holds the service, as in a large program with lazy routes. */
export default new Elysia({ prefix: '/lazy' }).use(lazyService).get('/', () => 'lazy')
