/** The inputs of a form that is made from a schema. */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import type { Draft, Field } from './form-model.ts'
import { emptyDraft } from './form-model.ts'

interface Props<Of extends Field = Field> {
  readonly label: string
  readonly field: Of
  readonly draft: Draft
  readonly change: (draft: Draft) => void
  readonly isRequired: boolean
}

export function FieldInput(props: Props) {
  const { field } = props
  if (field.kind === 'group') return <Group {...props} field={field} />
  if (field.kind === 'list') return <List {...props} field={field} />
  return <Leaf {...props} field={field} />
}

function Leaf({
  label,
  field,
  draft,
  change,
  isRequired
}: Props<Exclude<Field, { kind: 'group' | 'list' }>>) {
  const id = useId()
  const shared = {
    id,
    value: draft as string,
    onInput: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
      change(currentTarget.value)
  }
  const hint = 'hint' in field ? field.hint : ''
  return (
    <div class="field">
      <label for={id}>
        {label}
        {!isRequired && <i> (optional)</i>}
        {hint !== '' && <small> {hint}</small>}
      </label>
      {field.kind === 'json' && <textarea rows={3} spellcheck={false} {...shared} />}
      {field.kind === 'text' && <input {...shared} />}
      {field.kind === 'number' && <input inputMode="decimal" {...shared} />}
      {field.kind === 'boolean' && (
        <select {...shared}>
          <option value="">–</option>
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      )}
      {field.kind === 'choice' && (
        <select {...shared}>
          <option value="">–</option>
          {field.options.map((option, index) => (
            <option key={index} value={String(index)}>
              {typeof option === 'string' ? option : JSON.stringify(option)}
            </option>
          ))}
        </select>
      )}
    </div>
  )
}

function Fieldset({
  label,
  isRequired,
  children
}: {
  readonly label: string
  readonly isRequired: boolean
  readonly children: ComponentChildren
}) {
  return (
    <fieldset>
      <legend>
        {label}
        {!isRequired && <i> (optional)</i>}
      </legend>
      {children}
    </fieldset>
  )
}

function Group({ label, field, draft, change, isRequired }: Props<Extract<Field, { kind: 'group' }>>) {
  const drafts = draft as readonly Draft[]
  return (
    <Fieldset label={label} isRequired={isRequired}>
      {field.members.map((member, index) => (
        <FieldInput
          key={member.name}
          label={member.name}
          field={member.field}
          draft={drafts[index] as Draft}
          change={(next) => change(drafts.with(index, next))}
          isRequired={member.isRequired}
        />
      ))}
    </Fieldset>
  )
}

function List({ label, field, draft, change, isRequired }: Props<Extract<Field, { kind: 'list' }>>) {
  const drafts = draft as readonly Draft[]
  return (
    <Fieldset label={label} isRequired={isRequired}>
      {drafts.map((each, index) => (
        <div class="item" key={index}>
          <FieldInput
            label={`${label} ${index + 1}`}
            field={field.item}
            draft={each}
            change={(next) => change(drafts.with(index, next))}
            isRequired={true}
          />
          <button
            type="button"
            aria-label={`Remove ${label} ${index + 1}`}
            onClick={() => change(drafts.toSpliced(index, 1))}
          >
            ✕
          </button>
        </div>
      ))}
      <button type="button" onClick={() => change([...drafts, emptyDraft(field.item)])}>
        Add to {label}
      </button>
    </Fieldset>
  )
}
