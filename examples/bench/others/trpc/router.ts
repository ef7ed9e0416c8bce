/** The router of the tRPC peer, whose types its client uses. */
import { initTRPC } from '@trpc/server'
import type { Work } from '../../peers/run-server.ts'
import { recordsLater } from '../../peers/work.ts'

const trpc = initTRPC.create()

export const routerFor = (work: Work) =>
  trpc.router({
    echo: trpc.procedure.input((data: unknown) => data).query(({ input }) => work.answer(input)),
    count: trpc.procedure.input(Number).subscription(({ input }) => recordsLater(input))
  })

export type EchoRouter = ReturnType<typeof routerFor>
