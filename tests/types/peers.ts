/** Programs with other libraries and as many patterns, to compare the cost of their types with ours. */
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { lines } from './lines.ts'

const PACKAGES = [
  '@trpc/server@11.25.2',
  '@trpc/client@11.25.2',
  '@orpc/server@1.14.15',
  '@orpc/client@1.14.15',
  '@elysiajs/eden@1.4.9',
  'elysia@1.4.30',
  'zod@4.6.7'
]

const zod = (n: number) => `z.object({ id: z.number(), name: z.string(), f${n}: z.boolean().optional() })`
const answer = (n: number, input: string) => `({ id: ${input}.id, n${n}: ${input}.name.length })`

/** A server with n procedures, and a client that calls each of them. */
export const PEERS = {
  tRPC: (count: number) => `
import { createTRPCClient, httpBatchLink } from '@trpc/client'
import { initTRPC } from '@trpc/server'
import { z } from 'zod'
const t = initTRPC.create()
export const r = t.router({
${lines(count, (n) => `p${n}: t.procedure.input(${zod(n)}).query(({ input }) => ${answer(n, 'input')})`, ',\n')}
})
const c = createTRPCClient<typeof r>({ links: [httpBatchLink({ url: '' })] })
${lines(count, (n) => `export const r${n} = c.p${n}.query({ id: 1, name: 'a' })`)}
`,
  oRPC: (count: number) => `
import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/fetch'
import { os, type RouterClient } from '@orpc/server'
import { z } from 'zod'
export const r = {
${lines(count, (n) => `p${n}: os.input(${zod(n)}).handler(({ input }) => ${answer(n, 'input')})`, ',\n')}
}
const c: RouterClient<typeof r> = createORPCClient(new RPCLink({ url: '' }))
${lines(count, (n) => `export const r${n} = c.p${n}({ id: 1, name: 'a' })`)}
`,
  'Elysia and Eden': (count: number) => `
import { treaty } from '@elysiajs/eden'
import { Elysia, t } from 'elysia'
export const r = new Elysia()
${lines(
  count,
  (n) =>
    `.post('/p${n}', ({ body }) => ${answer(n, 'body')}, {
      body: t.Object({ id: t.Number(), name: t.String(), f${n}: t.Optional(t.Boolean()) })
    })`
)}
const c = treaty<typeof r>('')
${lines(count, (n) => `export const r${n} = c.p${n}.post({ id: 1, name: 'a' })`)}
`
} as const

/** Installs the other libraries in a folder, only for this measurement. */
export async function installPeers(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }')
  const flags = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--legacy-peer-deps']
  await promisify(execFile)('npm', ['install', ...flags, ...PACKAGES], { cwd: folder })
}
