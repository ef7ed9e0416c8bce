/** The suite of a store, over the store of `memory()`. */
import { memory } from '@elysia-microservices/transport'
import { NO_SERVER, storeTests } from './index.ts'

storeTests({
  name: 'memory',
  title: 'the store of memory()',
  stores: memory().store.stores,
  hasServer: false,
  async start() {
    const { store } = memory()
    return { ...NO_SERVER, store: () => store }
  }
})
