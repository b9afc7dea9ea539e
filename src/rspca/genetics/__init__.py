"""Genotypes: PLINK files, which SNPs and people are used, regions, chromosomes, alleles, linkage."""
