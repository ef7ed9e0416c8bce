/** Interop tests with rsocket-java, the reference implementation of RSocket. */
import { testInterop } from './interop.ts'
import { java } from './toolchains.ts'

await testInterop({
  name: 'rsocket-java 1.1.5',
  toolchain: java()
})
