/** RSocket with rsocket-java, the reference implementation. */
import { losesWorkOfStoppingServer } from './cases/limits.ts'
import { testInterop } from './interop.ts'
import { java } from './toolchains.ts'

await testInterop({
  name: 'rsocket-java 1.1.5',
  toolchain: java(),
  asking: {
    'gets its answer while the server stops, and REJECTED for what is new': losesWorkOfStoppingServer
  }
})
