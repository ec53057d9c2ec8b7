import { useState } from 'react'
import { Button } from '#control-plane/dashboard/ui/button.tsx'
import { DocAnchor } from './doc-link.tsx'
import type { DocGroup, DocMenu } from './doc-page.ts'
import { REFERENCE } from './doc-page.ts'

/** The menu of the documentation. On a phone it is behind a button. */
export function DocsMenu({ menu, path }: { readonly menu: DocMenu; readonly path: string }) {
  const [openedAt, setOpenedAt] = useState<string | undefined>()
  const isOpen = openedAt === path
  return (
    <nav className="docs-menu" aria-label="Documentation" data-open={isOpen}>
      <Button aria-expanded={isOpen} onClick={() => setOpenedAt(isOpen ? undefined : path)}>
        {isOpen ? 'Close the list' : 'All pages'}
      </Button>
      <div>
        <Siblings menu={menu} path={path} />
        {menu.texts.map((group) => (
          <section key={group.title}>
            <h2>{group.title}</h2>
            <Links group={group} path={path} />
          </section>
        ))}
      </div>
    </nav>
  )
}

/** The other operations of the group of this page. The reference has all groups. */
function Siblings({ menu, path }: { readonly menu: DocMenu; readonly path: string }) {
  const group = menu.operations.find(({ operations }) =>
    operations.some(({ places }) => places.some(({ to }) => to === path)),
  )
  if (group === undefined) return null
  return (
    <section>
      <h2>{group.title}</h2>
      <ul>
        {group.operations.map(({ label, places }) => (
          <li key={label}>
            <DocAnchor to={places[0]?.to ?? REFERENCE} isHere={places.some(({ to }) => to === path)}>
              {label}
              <span className="verb">{places[0]?.method}</span>
            </DocAnchor>
          </li>
        ))}
        <li>
          <DocAnchor to={REFERENCE}>All operations</DocAnchor>
        </li>
      </ul>
    </section>
  )
}

function Links({ group, path }: { readonly group: DocGroup; readonly path: string }) {
  return (
    <ul>
      {group.links.map(({ to, label }) => (
        <li key={to}>
          <DocAnchor to={to} isHere={to === path}>
            {label}
          </DocAnchor>
        </li>
      ))}
    </ul>
  )
}
