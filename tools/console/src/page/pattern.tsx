/** One pattern: its schemas and hooks, and the form for calling it. */
import type { PatternView, Schema } from '../protocol.ts'
import { ms } from './format.ts'
import { Trial } from './trial.tsx'

export function Pattern({
  view,
  trying
}: {
  readonly view: PatternView
  /** The service to call; `undefined` if patterns may not be called. */
  readonly trying: string | undefined
}) {
  const { kind, data, headers, response, errors, hooks, timeout, idempotent, takesStream, answersStream } =
    view
  return (
    <div class="pattern">
      {trying === undefined ? (
        <p class="hint">The console is read-only: its option try is not set.</p>
      ) : (
        <Trial view={view} service={trying} />
      )}
      <div class="schemas">
        <SchemaText title={takesStream ? 'Values of the data' : 'Data'} schema={data} />
        {headers !== undefined && <SchemaText title="Headers" schema={headers} />}
        {kind === 'message' && (
          <SchemaText title={answersStream ? 'Values of the answer' : 'Answer'} schema={response} />
        )}
        {errors !== undefined && <SchemaText title="Errors" schema={errors} />}
        {timeout !== undefined && <p>Takes at most {ms(timeout)} ms</p>}
        {idempotent && <p>May run twice</p>}
        {hooks.length > 0 && (
          <div>
            <h4>Hooks</h4>
            <ul>
              {hooks.map((hook) => (
                <li key={hook}>{hook}</li>
              ))}
            </ul>
          </div>
        )}
      </div>
    </div>
  )
}

function SchemaText({ title, schema }: { readonly title: string; readonly schema: Schema | undefined }) {
  return (
    <div>
      <h4>{title}</h4>
      {schema === undefined ? (
        <p class="hint">not checked</p>
      ) : (
        // It may be longer than there is room; scrolled by keyboard if it can be focused.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
        <section class="text" tabIndex={0} aria-label={`Schema of ${title.toLowerCase()}`}>
          <pre>{JSON.stringify(schema, null, 2)}</pre>
        </section>
      )}
    </div>
  )
}
