/** The router of the tRPC peer; its client has its types. */
import { initTRPC } from '@trpc/server'

const trpc = initTRPC.create()

export const router = trpc.router({
  echo: trpc.procedure.input((data: unknown) => data).query(({ input }) => input)
})

export type EchoRouter = typeof router
