import { useNavigate, useSearch } from '@tanstack/react-router'
import { count } from '#control-plane/dashboard/data/format.ts'
import { Search } from '#control-plane/dashboard/ui/kept-input.tsx'
import { DocAnchor } from './doc-link.tsx'
import type { DocOperation, DocPlace, OperationGroup } from './doc-page.ts'

/** All operations by group, each once with its method and path. A filter, which is in the address, makes them fewer. */
export function OperationList({ groups }: { readonly groups: readonly OperationGroup[] }) {
  const { filter = '' } = useSearch({ strict: false })
  const navigate = useNavigate()
  const words = filter.toLowerCase().split(/\s+/)
  const found = groups.flatMap((group) => {
    const operations = group.operations.filter((operation) => isMatch(operation, group.title, words))
    return operations.length === 0 ? [] : [{ ...group, operations }]
  })
  const total = found.reduce((sum, { operations }) => sum + operations.length, 0)
  const onFilter = (text: string) =>
    void navigate({
      to: '.',
      search: (now) => ({ ...now, filter: text === '' ? undefined : text }),
      replace: true,
      resetScroll: false,
    })
  return (
    <>
      <h2 id="operations">Operations</h2>
      <Search label="Filter operations" value={filter} onSearch={onFilter} placeholder="webhook, /v1/buyer, DELETE" />
      <p className="muted small" role="status">
        {total === 0
          ? 'No operation matches. Try fewer words.'
          : total === 1
            ? '1 operation'
            : `${count(total)} operations`}
      </p>
      {found.map(({ id, title, about, operations }) => (
        <section key={id} className="operations">
          <h3 id={id}>{title}</h3>
          <p className="muted small">{about}</p>
          <ul aria-label={title}>
            {operations.map((operation) => (
              <Line key={operation.label} operation={operation} />
            ))}
          </ul>
        </section>
      ))}
    </>
  )
}

function isMatch({ label, places }: DocOperation, group: string, words: readonly string[]): boolean {
  const text = [label, group, ...places.map(({ method, path }) => `${method} ${path}`)].join(' ').toLowerCase()
  return words.every((word) => text.includes(word))
}

function Line({ operation: { label, places } }: { readonly operation: DocOperation }) {
  const [first, ...others] = places
  if (first === undefined) return null
  return (
    <li>
      <DocAnchor to={first.to}>{label}</DocAnchor>
      <Place place={first} />
      {others.length === 0 ? null : (
        <details>
          <summary>
            {others.length} more {others.length === 1 ? 'path' : 'paths'}
          </summary>
          <ul>
            {others.map((place) => (
              <li key={place.to}>
                <DocAnchor to={place.to}>
                  <Place place={place} />
                </DocAnchor>
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  )
}

function Place({ place: { method, path } }: { readonly place: DocPlace }) {
  return (
    <span className="place">
      <span className="verb" data-method={method}>
        {method}
      </span>{' '}
      {path}
    </span>
  )
}
