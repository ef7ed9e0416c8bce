/** The service of docs/other-languages.md, for clients of other languages and of pages. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadProto, type Proto } from '@elysia-microservices/protobuf'
import { type Message, microservice, RpcError, type Transport } from 'elysia-microservices'
import { codeBlocks } from '../docs/markdown.ts'
import { rootFolder } from '../workspace.ts'

const blocks = codeBlocks(join(rootFolder, 'docs/other-languages.md'))

/** The code of the first block of a language. */
export function codeIn(language: string): string {
  const block = blocks.find(({ info }) => info === language)
  if (block === undefined) throw new Error(`docs/other-languages.md has no block ${language}`)
  return block.code
}

/** The text of the block behind the first one of a language: what its program prints. */
export function printsIn(language: string): string {
  const index = blocks.findIndex(({ info }) => info === language)
  return blocks[index + 1]?.code ?? ''
}

/** The `.proto` of the page. */
export async function shopProto(): Promise<Proto> {
  const folder = mkdtempSync(join(tmpdir(), 'other-languages-'))
  try {
    writeFileSync(join(folder, 'shop.proto'), codeIn('proto'))
    return await loadProto({ files: join(folder, 'shop.proto') })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Makes the service.
 * @param left is called when a caller has left a stream, or does not wait any more
 * @param transport none: only doors have it
 */
export function newShop(left: () => void = () => {}, transport?: Transport) {
  return microservice({ name: 'shop', ...(transport && { transport }), logger: { error() {}, warn() {} } })
    .message('shop.v1.Orders/GetOrder', async ({ data, signal }: Message<{ id: string }>) => {
      if (data.id === '0') throw new RpcError({ code: 'NOT_FOUND', message: 'There is no order 0' })
      if (data.id === 'gone')
        throw new RpcError({ code: 'OUT_OF_STOCK', message: 'No tea is left: ü', details: { left: [0] } })
      if (data.id === 'never') {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        left()
      }
      return { id: data.id, price: 4 }
    })
    .message('shop.v1.Orders/WatchOrders', async function* ({ data, signal }: Message<{ id: string }>) {
      signal.addEventListener('abort', left)
      const end = data.id === 'endless' ? Number.POSITIVE_INFINITY : 3
      for (let price = 1; price <= end && !signal.aborted; price++) yield { id: data.id, price }
    })
    .message('shop.v1.Orders/AddOrders', async ({ data }: Message<AsyncIterable<{ id: string }>>) => {
      let count = 0
      for await (const _order of data) count++
      return { count }
    })
}
