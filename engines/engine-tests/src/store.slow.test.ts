/** The suite of a store, over the store of `memory()`. */
import { memory } from '@elysia-microservices/transport'
import { storeTests } from './index.ts'

storeTests({
  name: 'memory',
  title: 'the store of memory()',
  stores: memory().store.stores,
  hasServer: false,
  async start() {
    const { store } = memory()
    return {
      port: 0,
      store: () => store,
      stop: async () => {},
      start: async () => {},
      suspend() {},
      resume() {},
      detour: () => Promise.reject(new Error('There is no server')),
      close: async () => {}
    }
  }
})
