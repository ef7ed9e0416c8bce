/** Elysia, as its documentation shows it. */
import { serve } from '../serve.ts'
import { elysiaApp, listen } from './elysia-app.ts'

await serve((work) => listen(elysiaApp(work), work))
