project = 'Elsewhere project'
