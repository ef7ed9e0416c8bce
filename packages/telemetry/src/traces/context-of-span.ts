/** The context in which a span is the current one: what `trace.setSpan` gives, at a fraction of its cost. */
import { type Context, INVALID_SPAN_CONTEXT, ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api'

/** The key by which the API keeps the current span. It is the API's secret, so one of our contexts is asked to keep one. */
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

/** A context of the API copies a map, and makes three functions; few handlers ever ask for one. */
class ContextOfSpan implements Context {
  readonly #parent: Context
  readonly #span: Span

  constructor(parent: Context, span: Span) {
    // Takes the context below the parent's span, so that it is never more than one step away.
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

  /** The same as a context of the API. */
  get #whole(): Context {
    return trace.setSpan(this.#parent, this.#span)
  }
}

/** The context with a span as the current one. */
export function withSpan(parent: Context, span: Span): Context {
  return new ContextOfSpan(parent, span)
}
