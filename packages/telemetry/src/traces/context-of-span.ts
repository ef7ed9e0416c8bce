/** A context in which a span is the current one. It does the same as `trace.setSpan`, at a fraction of the cost. */
import { type Context, INVALID_SPAN_CONTEXT, ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api'

/**
 * The key under which the API stores the current span. The API does not export this key, so it is read from a call
 * of `trace.setSpan`.
 */
let spanKey = Symbol()
trace.setSpan(
  {
    getValue: () => undefined,
    setValue(key) {
      spanKey = key
      return ROOT_CONTEXT
    },
    deleteValue: () => ROOT_CONTEXT
  },
  trace.wrapSpanContext(INVALID_SPAN_CONTEXT)
)

/**
 * A context that holds one span. A context of the API copies a map and makes three functions, but few handlers ever
 * use their context.
 */
class ContextOfSpan implements Context {
  readonly #parent: Context
  readonly #span: Span

  constructor(parent: Context, span: Span) {
    // If the parent is such a context, its own parent is used, so that the API's context is never more than one
    // step away.
    this.#parent = parent instanceof ContextOfSpan ? parent.#parent : parent
    this.#span = span
  }

  getValue(key: symbol): unknown {
    return key === spanKey ? this.#span : this.#parent.getValue(key)
  }

  setValue(key: symbol, value: unknown): Context {
    return this.#whole.setValue(key, value)
  }

  deleteValue(key: symbol): Context {
    return this.#whole.deleteValue(key)
  }

  /** The equivalent context of the API. */
  get #whole(): Context {
    return trace.setSpan(this.#parent, this.#span)
  }
}

/** Returns a context in which a span is the current one. */
export function withSpan(parent: Context, span: Span): Context {
  return new ContextOfSpan(parent, span)
}
