/** Checks of the functions in `use()`, which are taken for arounds. */
import { type Around, OptionError, type ReceivedMessage } from '@elysia-microservices/transport/kit'
import { DISPATCHER } from './dispatcher-of.ts'

/**
 * The same arounds. When they are combined at the start, one that returns a service is refused: it is no around, but a
 * function that makes a service and was not called.
 */
export function checkedArounds(arounds: readonly Around<ReceivedMessage>[]): Around<ReceivedMessage>[] {
  return arounds.map((around) => {
    const checked: Around<ReceivedMessage> = (next) => {
      const handle = around(next)
      if (typeof handle !== 'function' || !(DISPATCHER in handle)) return handle
      const name = around.name === '' ? 'make' : around.name
      throw new OptionError(
        'The argument of use()',
        `use() has got a function that makes a service, and not a service: call it, use(${name}())`
      )
    }
    return Object.defineProperty(checked, 'name', { value: around.name })
  })
}
